"""Records of the core into data directories, each exactly once.

answers      what clients were answered, in HDSOlog.xml
commits      commits of the data logger
directory    the data directory of a daemon's bout
documents    the documents of a configuration as the logger keeps them
events       engine events as JSON lines for the journal
interface    what the service asks of its data logger
keeper       what the data logger does with each record, and with what the service tells it
kernellog    what the kernel and its drivers said during a bout (appendix 10.4, section 3.1)
logger       the data logger of the daemon
manifest     what the manifest of a daemon's bout says, while it is being written and when it has ended
writer       the data logger without its thread
"""
