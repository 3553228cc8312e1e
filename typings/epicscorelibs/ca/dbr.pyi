# The part of epicscorelibs that Beamkeep uses; the package itself ships no types.
DBR_STRING: int
DBR_SHORT: int
DBR_FLOAT: int
DBR_ENUM: int
DBR_CHAR: int
DBR_LONG: int
DBR_DOUBLE: int
