"""The experiments of chapter 7: what is done, what has to be seen, and what was seen.

    bench              where live bouts are done
    bundle             one archive of all that verdicts rest on, which another machine can check offline
    catalogue/         the experiments of chapter 7
    conduct            whole experiments from the first bout to verdicts and figures
    course             all repetitions of some rows, on all cores
    edits              a script with single writes changed, for bouts that ask what one value of a changeset does
    evidence_figure    the picture of a probe
    explain            the verdict of their row, what came of its probes, its other runs
    figures            pictures of one representative repetition of a row
    live               the rows of an experiment on a real leg, or on an emulated one in real time
    nerves             what chapter 9 does to a script: sensors that are cut, and writes that wait for what is sensed
    page               markdown pages of experiments and the table over all of them, from verdicts
    probes             experiments beside a row that came out otherwise, or not firmly as seen
    protocol           what an experiment is
    record             a verdict in a form for machines, written and read back
    sharing            bouts that several repetitions have in common
    sources            what a verdict rests on
    templates          text filled from data with Jinja2
    tidy               all repetitions of all verdicts as one tidy table, for R and pandas
    trials             one repetition of a row
    verdict            from repetitions to a verdict

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.trials import run_trial

print(run_trial(EXPERIMENTS[0].rows[0], seed=1))
"""
