{#
  A generic test for dbt: the rows of a model tell little about a sensitive column.

  It fails when a value of the released columns makes a value of the sensitive ones `factor` times
  as likely as it was or more, or 1/factor times or less: P(s|y) / P(s), for the rows of the model
  as everybody. Missing values are values. All numbers are whole, so that nothing is rounded.

  Copy this file to tests/generic/ of a dbt project. In schema.yml:

    models:
      - name: people_by_region
        data_tests:
          - lift_at_most:
              arguments:            # before dbt 1.10 without this line, and one step to the left
                sensitive: disease
                released: [age_band, region]
                factor: 1.5
#}
{% test lift_at_most(model, sensitive, released, factor) %}
{%- set s = [sensitive] if sensitive is string else sensitive -%}
{%- set x = [released] if released is string else released -%}
{%- set parts = (factor | string).split('.') -%}
{%- set above = (parts | join('')) | int -%}
{%- set below = 10 ** (parts[1] | length if parts | length == 2 else 0) -%}
{%- if parts | length > 2 or not (parts | join('')).isdigit() or above <= below -%}
  {{ exceptions.raise_compiler_error("lift_at_most: factor must be a decimal number above 1, such as 1.5; got " ~ factor) }}
{%- endif -%}
{%- if not s or not x or (s | select('in', x) | list) -%}
  {{ exceptions.raise_compiler_error("lift_at_most: name sensitive and released columns; no column is both.") }}
{%- endif -%}
{%- set whole = 'hugeint' if target.type == 'duckdb' else 'numeric(38, 0)' -%}
{#- Symbols are numbered, so that missing values are values too, and no value is joined on. -#}
with numbered as (
  select
    dense_rank() over (order by {{ s | join(', ') }}) as s_number,
    dense_rank() over (order by {{ x | join(', ') }}) as x_number
  from {{ model }}
),
pairs as (
  select s_number, x_number, count(*) as n from numbered group by s_number, x_number
),
of_s as (select s_number, sum(n) as n_s from pairs group by s_number),
of_x as (select x_number, sum(n) as n_x from pairs group by x_number),
counted as (
  select
    of_s.s_number,
    of_x.x_number,
    cast(coalesce(pairs.n, 0) as {{ whole }}) as n_both,
    cast(of_s.n_s as {{ whole }}) as n_s,
    cast(of_x.n_x as {{ whole }}) as n_x,
    cast((select sum(n) from pairs) as {{ whole }}) as n_all
  from of_s
  cross join of_x
  left join pairs on pairs.s_number = of_s.s_number and pairs.x_number = of_x.x_number
)
select s_number, x_number, n_both, n_s, n_x, n_all
from counted
where n_both * n_all * {{ below }} >= n_s * n_x * {{ above }}
   or n_both * n_all * {{ above }} <= n_s * n_x * {{ below }}
{% endtest %}
