"""The searches and proofs behind the mechanisms: arrays and atoms in, atoms and bounds out.

`growing` merges symbols; `classes`, `polytope`, `search`, `column_generation`, `binary` and
`nearly_equal` find the best mixture of atoms; `proving` bounds what any mixture could reach.
"""
