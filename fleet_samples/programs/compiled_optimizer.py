"""The same blocks, with AdamW's step compiled too: one fused kernel for all parameters."""

import common
import compiled


def build():
    return compiled.build(compile_optimizer=True)


if __name__ == "__main__":
    common.run(build, __doc__)
