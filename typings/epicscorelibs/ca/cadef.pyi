# The part of epicscorelibs that Beamkeep uses; the package itself ships no types.
ECA_DISCONN: int
ECA_TIMEOUT: int
cs_conn: int

class Disconnected(Exception): ...

class CAException(Exception):
    status: int
