"""Language models of known architectures, from the folders that people share: `config.json` and safetensors.

`load(folder)` reads the configuration, makes the module, and gives it the weights of the files, which stay mapped: only
what is computed with is read. Parameters have the names that they have in the files, so that state dicts go both ways.

| `model_type` | class | what it computes |
|---|---|---|
| `bert` | `Bert` | hidden states; with a head in the files, scores of words or classes |
| `gpt2` | `GPT2` | scores of the next token; `generate` |
| `llama`, `mistral`, `qwen2`, `qwen3` | `Llama` | scores of the next token; `generate` |

>>> import json, pathlib, tempfile, svod
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> config = {"model_type": "gpt2", "vocab_size": 11, "n_positions": 32, "n_embd": 8, "n_layer": 1, "n_head": 2}
>>> _ = (folder / "config.json").write_text(json.dumps(config))
>>> made = svod.models.GPT2.from_config(config)
>>> svod.save_safetensors(made.state_dict(), folder / "model.safetensors")
>>> model = svod.models.load(folder)
>>> model(svod.Tensor([[3, 1, 4]])).shape
(1, 3, 11)
>>> model.generate([[3, 1, 4]], max_new_tokens=5).shape
(1, 8)
"""

from svod.models._decoder import Decoder
from svod.models._load import load
from svod.models.bert import Bert, BertOutput
from svod.models.gpt2 import GPT2
from svod.models.llama import Llama

__all__ = ["GPT2", "Bert", "BertOutput", "Decoder", "Llama", "load"]
