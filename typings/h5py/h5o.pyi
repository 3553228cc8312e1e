from .h5d import DatasetID
from .h5g import GroupID
from .h5t import TypeID

def open(holder: GroupID, name: bytes) -> GroupID | DatasetID | TypeID: ...
