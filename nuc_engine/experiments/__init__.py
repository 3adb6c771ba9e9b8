"""The experiments of chapter 7: what is done, what has to be seen, and what was seen.

protocol    what an experiment is: rows, bouts, windows, criteria, findings
catalogue   the experiments themselves
trials      one repetition: its bouts, the kicks they need, what the criterion says of them
sharing     bouts that several repetitions have in common, run once
edits       scripts with single writes changed
course      all repetitions of some rows on all cores, with new seeds for those that are not valid
probes      experiments beside a row that came out otherwise, to find out why
conduct     whole experiments, from the first bout to verdicts and figures
verdict     shares, intervals and controls
record      verdict.json; sources: which code and which files a verdict rests on
page        a Markdown page of each experiment; index: the folder of pages, and the table over all of them
figures     pictures of a representative repetition; evidence_figure: of a probe (both need matplotlib)
live        the same rows on a real leg, with somebody beside it

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.trials import run_trial

print(run_trial(EXPERIMENTS[0].rows[0], seed=1))
"""
