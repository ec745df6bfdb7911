/**
 * Secrets of webhooks, and signatures with them (Standard Webhooks 1.0, symmetric). A secret is an HMAC over the webhook's salt: the database
 * holds the salt alone, so that a reader of a copy of it cannot sign.
 */
import { createHmac, type KeyObject } from "node:crypto"
import { encodeBase64, utf8Encode } from "@runseal/canonical"

const PREFIX = "whsec_"

/**
 * The secret as its receiver gets it: `whsec_` and 32 bytes in base64.
 * @param key the secret of the keys folder from which those of webhooks follow
 * @param salt random, another one after each rotation
 */
export const webhookSecret = (key: KeyObject, salt: string): string => `${PREFIX}${encodeBase64(bytesOf(key, salt))}`

/**
 * The header `webhook-signature`: one signature for each secret in force, the newest first.
 * @param id of the event
 * @param seconds when it is sent, Unix seconds
 */
export const webhookSignatures = (
  key: KeyObject,
  salts: readonly string[],
  { id, seconds, body }: { readonly id: string; readonly seconds: number; readonly body: string },
): string =>
  salts
    .map(salt => {
      const mac = createHmac("sha256", bytesOf(key, salt))
      return `v1,${mac.update(utf8Encode(`${id}.${seconds}.${body}`)).digest("base64")}`
    })
    .join(" ")

const bytesOf = (key: KeyObject, salt: string): Uint8Array =>
  new Uint8Array(createHmac("sha256", key).update(`webhook_secret\n${salt}`).digest())
