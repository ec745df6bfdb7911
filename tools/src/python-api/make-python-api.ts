/**
 * Makes the types and calls of the Python client from the OpenAPI document: `node tools/src/python-api/make-python-api.ts`. A test
 * compares what is stored with what this makes.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { pythonFiles } from "./python-calls.ts"

export const PYTHON_API = fileURLToPath(new URL("../../../python/src/runseal_client/api/", import.meta.url))
const HEADER =
  "# Made by `node tools/src/python-api/make-python-api.ts` from the OpenAPI document. Do not change it by hand."

/** The text of each file, by its name. */
export function madeFiles(): Readonly<Record<string, string>> {
  const { answers, requests, calls, operations } = pythonFiles()
  const file = (about: string, imports: readonly string[], text: string): string =>
    `${[HEADER, `"""${about}"""`, "", "from __future__ import annotations", "", ...imports].join("\n")}\n\n\n${text}\n`
  return {
    "__init__.py": `${HEADER}\n"""What the service takes and answers: \`requests\` and \`answers\`."""\n`,
    "answers.py": file(
      "What the service answers. Members that a later release adds are there too; a missing one is None.",
      [
        "from typing import Any, Literal",
        "",
        "from pydantic import Field",
        "",
        "from ..answer import Answer, Document",
      ],
      answers,
    ),
    "requests.py": file(
      "What the service takes. A type checker refuses every other member; `extra` of a call sends one all the same.",
      ["from collections.abc import Mapping, Sequence", "from typing import Any, Literal, Required, TypedDict"],
      requests,
    ),
    "calls.py": file(
      "The request of each call.",
      [
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal",
        "",
        "from ..calls import ABSENT, Absent, Call, given, new_key, segment, segments, spread, whole",
        "from . import answers as a",
        "from . import requests as r",
      ],
      calls,
    ),
    "operations.py": file(
      "The methods of both clients.",
      [
        "from collections.abc import AsyncIterator, Iterator, Mapping, Sequence",
        "from typing import Any, Literal",
        "",
        "from ..calls import ABSENT, Absent, whole",
        "from ..senders import AsyncSender, Sender",
        "from . import answers as a",
        "from . import calls as c",
        "from . import requests as r",
      ],
      operations,
    ),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(PYTHON_API, { recursive: true })
  for (const [name, text] of Object.entries(madeFiles())) writeFileSync(join(PYTHON_API, name), text)
}
