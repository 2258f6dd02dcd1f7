"""Release who was aboard the Titanic without giving away who was saved.

X is class, sex and age of 2201 people; S is whether they were saved. Prints lifts, verdict and
utility of publishing X itself, and of four releases that satisfy the same bound.
"""

import lowlift as ll


def main() -> None:
    """Print the table before and after."""
    joint = ll.datasets.titanic()
    criterion = ll.ALIP(lower=0.5, upper=0.5)

    before = ll.audit(joint, ll.Channel.identity(joint), criterion)
    print("2201 people aboard the Titanic. Published: class, sex, age. Sensitive: saved or lost.")
    print(f"Wanted: {criterion}: no belief about S may change by a factor of 1.65 or more.\n")
    print("Publishing X as it is")
    print(indent(before))
    print("\n  class, sex, age         people  lift of 'lost'  lift of 'saved'")
    for x, label in enumerate(joint.x_labels):
        people = int(joint.counts[:, x].sum())
        lost, saved = joint.lift[:, x]
        mark = "" if before.allowed[x] else "  <- too revealing"
        print(f"  {label:<22}{people:>8}{lost:>16.3f}{saved:>17.3f}{mark}")

    for mechanism in (ll.watchdog, ll.subset_merging, ll.optimal_merging, ll.random_response):
        release = mechanism(joint, criterion)
        print(f"\n{release.mechanism}")
        print(indent(release.audit))
        if release.certificate is not None:
            among, bound = release.certificate.scope, release.certificate.upper_bound
            print(f"  proven: no other of all {among} that satisfy it has an NMI above {bound:.6f}")

    print("\nWhat the last one publishes, its lifts, and what each value stands for")
    p_x_given_y = release.p_x_given_y
    for y in range(release.channel.n_y):
        lost, saved = release.audit.lift[:, y]
        mixed = ", ".join(
            f"{p_x_given_y[x, y]:.0%} {joint.x_labels[x]}" for x in release.channel.atom(y)[0]
        )
        print(f"  lost {lost:.3f}  saved {saved:.3f}  {mixed}")
    print("\nOne released value each for 3 people, drawn from the channel that was audited:")
    for label in release.sample(["1st man adult", "3rd woman child", "1st woman child"]):
        print(f"  {' | '.join(map(str, label)) if isinstance(label, tuple) else label}")


def indent(audit: ll.Audit) -> str:
    """Return the audit's text, indented."""
    return "  " + str(audit).replace("\n", "\n  ")


if __name__ == "__main__":
    main()
