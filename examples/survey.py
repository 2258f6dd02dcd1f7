"""Share a marriage survey without giving away who had an affair.

The data are real and come with statsmodels: 6366 women asked by a magazine in 1974 (R. C. Fair, "A
Theory of Extramarital Affairs", Journal of Political Economy 86, 1978). S is whether a woman
reported an affair. X is how she rates her marriage and how religious she is: what a colleague wants
to study. Needs ``pip install statsmodels pandas``.
"""

from typing import Any

from statsmodels.datasets import fair

import lowlift as ll
from lowlift.estimation import estimate

RATING = {1: "very poor", 2: "poor", 3: "fair", 4: "good", 5: "very good"}
RELIGIOUS = {1: "not", 2: "mildly", 3: "fairly", 4: "strongly"}


def main() -> None:
    """Print the survey's lifts, four releases under one bound, and what a colleague learns."""
    women = survey()
    joint = ll.read_joint(women, sensitive="affair", released=["marriage", "religious"])
    share = joint.p_s[joint.s_labels.index("yes")]
    print(f"{len(women)} women; {share:.1%} report an affair.\n")
    print("How many times as likely is an affair, once you know her answers? (the lift)")
    print_lifts(joint)

    bound = ll.ALIP(lower=0.4, upper=0.4)
    as_it_is = ll.audit(joint, ll.Channel.identity(joint), bound)
    print(f"\nWanted: {bound}, every lift of 'yes' and of 'no' between 0.67 and 1.49.")
    print(f"The answers as they are: {len(as_it_is.violations)} of {joint.n_x} pairs break it.\n")

    print("mechanism            values  satisfied      NMI   no mechanism above")
    for mechanism in (ll.watchdog, ll.subset_merging, ll.optimal_merging, ll.random_response):
        release = mechanism(joint, bound)
        proven = release.certificate
        is_over_all = proven is not None and proven.scope == "mechanisms"
        most = f"{proven.upper_bound:.4f}" if proven is not None and is_over_all else "-"
        print(
            f"{release.mechanism:<20}{release.channel.n_y:>7}{release.audit.is_satisfied!s:>11}"
            f"{release.audit.nmi:>9.4f}{most:>21}"
        )

    print("\nThe colleague gets one drawn value a woman, and the codebook's P(y|x). From these:")
    answers = list(zip(women["marriage"], women["religious"], strict=True))
    print_estimates(joint, release, answers)


def survey() -> Any:
    """Return the columns that we need, as words."""
    raw = fair.load_pandas().data
    words = raw[[]].copy()
    words["marriage"] = raw["rate_marriage"].astype(int).map(RATING)
    words["religious"] = raw["religious"].astype(int).map(RELIGIOUS)
    words["affair"] = (raw["affairs"] > 0).map({True: "yes", False: "no"})
    return words


def print_lifts(joint: ll.Joint) -> None:
    """Print the lift of 'yes' by marriage and religion."""
    yes = joint.lift[joint.s_labels.index("yes")]
    lift = dict(zip(joint.x_labels, yes, strict=True))
    print(f"  {'marriage':<12}" + "".join(f"{word:>10}" for word in RELIGIOUS.values()))
    for rating in RATING.values():
        row = (lift[rating, religion] for religion in RELIGIOUS.values())
        print(f"  {rating:<12}" + "".join(f"{value:>10.2f}" for value in row))


def print_estimates(joint: ll.Joint, release: ll.Release, answers: list[tuple[str, str]]) -> None:
    """Draw what is published, and print the marriages' ratings estimated from it."""
    # A seed only so that this page repeats: whoever knows it can undo the draws.
    drawn = release.sample(answers, seed=1978)
    counts = [drawn.count(label) for label in release.channel.y_labels]
    found = estimate(release.channel, counts)
    print("  marriage      in the survey   estimated")
    for rating in RATING.values():
        of_it = [isinstance(x, tuple) and x[0] == rating for x in joint.x_labels]
        print(f"  {rating:<12}{joint.p_x[of_it].sum():>15.1%}{found.p_x[of_it].sum():>12.1%}")


if __name__ == "__main__":
    main()
