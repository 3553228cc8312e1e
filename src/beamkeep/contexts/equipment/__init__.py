"""Equipment: the hardware of a facility, as families, models, assets, mounts and frames."""

from . import asset, family, frame, model, mount, pidinst, tree

OPERATIONS = (
    *family.OPERATIONS,
    *model.OPERATIONS,
    *asset.OPERATIONS,
    *mount.OPERATIONS,
    *frame.OPERATIONS,
)
QUESTIONS = (
    *family.QUESTIONS,
    *model.QUESTIONS,
    *asset.QUESTIONS,
    *tree.QUESTIONS,
    *pidinst.QUESTIONS,
    *mount.QUESTIONS,
    *frame.QUESTIONS,
)
