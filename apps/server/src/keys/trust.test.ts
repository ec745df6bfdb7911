import { encodeBase64 } from "@runseal/canonical"
import { MAX_OUTSIDE_LOGS } from "@runseal/core/artifacts/bundle-schema"
import { MAX_KEY_CHANGES } from "@runseal/core/wire/log-answers"
import { P256_KEY_DETAILS } from "@runseal/log/trust/trusted-keys"
import { expect, test } from "vitest"
import type { SigningKeyRow } from "../store/tables/signing-keys.ts"
import { newEcdsaKey } from "./ecdsa-keys.ts"
import { trustDocument, trustedKeysOf } from "./published-trust.ts"

test("a log that changed its keys as often as it may, with as many outside logs as it may have, is read by every verifier", () => {
  const rowsOf = (role: SigningKeyRow["role"]): readonly SigningKeyRow[] =>
    Array.from({ length: MAX_KEY_CHANGES + 1 }, (_, at) => {
      const { keyId, spki } = newEcdsaKey()
      const valid_to = at === MAX_KEY_CHANGES ? 0 : at + 1
      return { key_id: keyId, role, spki, valid_from: at, valid_to, revoked_from: 0 }
    })
  const signingKeys = [...rowsOf("service"), ...rowsOf("log")]
  const outside = Array.from({ length: MAX_OUTSIDE_LOGS }, (_, at) => {
    const { id, spki } = newEcdsaKey()
    return {
      logId: encodeBase64(id),
      spki,
      keyDetails: P256_KEY_DETAILS,
      baseUrl: `https://rekor-${at}.test`,
      validFrom: 0,
    }
  })
  const document = trustDocument({ origin: "runseal.test - 4127", genesisAt: 0, signingKeys }, "runseal.test", {
    keys: outside,
    authorities: [],
  })
  const trust = trustedKeysOf(document)
  expect(trust.logKeys).toHaveLength(MAX_KEY_CHANGES + 1)
  expect(trust.outside).toHaveLength(MAX_OUTSIDE_LOGS)
})
