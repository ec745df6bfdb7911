/**
 * What a form has done, on its way to the page that the answer leads to: post, redirect, get. So loading that page again does nothing again.
 * It may hold a new secret. It goes through a cookie that is encrypted and authenticated under the session's token for forms, which is in no
 * cookie: who reads the cookie alone reads nothing, and who sets one makes no page say anything. The page removes it. Decision 0230.
 */
import { decodeBase64, encodeBase64, parseStrictJson, utf8Decode, utf8Encode } from "@runseal/canonical"
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import { UNATTENDED_HEADER } from "@runseal/core/wire/session-use"
import type { Context } from "hono"
import { deleteCookie, getCookie, setCookie } from "hono/cookie"
import * as v from "valibot"

const NAME = "runseal-news"
/** Seconds within which the page must be loaded. */
const KEPT_SECONDS = 60
/** Bytes of the initialisation vector of AES-GCM. */
const IV_BYTES = 12

/** How it is shown, and a secret, which is in no other answer. */
const newsSchema = v.strictObject({
  tone: v.picklist(["good", "warn", "bad"]),
  text: v.string(),
  /** An address of this service that the text ends with. */
  link: v.exactOptional(v.string()),
  secret: v.exactOptional(v.string()),
})
export type News = v.InferOutput<typeof newsSchema>

const sealedSchema = v.strictObject({ path: v.string(), until: v.number(), news: newsSchema })

async function keyOf(csrf_token: string): Promise<CryptoKey> {
  const token = await crypto.subtle.importKey("raw", new Uint8Array(utf8Encode(csrf_token)), "HKDF", false, [
    "deriveKey",
  ])
  const derivation = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(0),
    info: new Uint8Array(utf8Encode("runseal console news")),
  }
  return crypto.subtle.deriveKey(derivation, token, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"])
}

/** As the cookie of the session: over https alone, where that one is. */
const optionsOf = (c: Context, path: string) =>
  ({
    path,
    httpOnly: true,
    sameSite: "Strict",
    secure: c.req.header("Cookie")?.includes("__Host-") === true,
  }) as const

/** @param path of the page that will show it */
export async function giveNews(
  c: Context,
  { csrf_token = "" }: Pick<SessionAnswer, "csrf_token">,
  path: string,
  news: News,
): Promise<void> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES))
  const text = new Uint8Array(utf8Encode(JSON.stringify({ path, until: Date.now() + KEPT_SECONDS * 1000, news })))
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await keyOf(csrf_token), text))
  const value = encodeBase64(new Uint8Array([...iv, ...sealed]))
  setCookie(c, NAME, value, { ...optionsOf(c, path), maxAge: KEPT_SECONDS })
}

/** The news for this page, this once; undefined where there are none. They wait for a page that somebody asked for, not for one that refreshes itself. */
export async function takeNews(c: Context, { csrf_token }: SessionAnswer): Promise<News | undefined> {
  const value = c.req.header(UNATTENDED_HEADER) === undefined ? getCookie(c, NAME) : undefined
  if (value === undefined || csrf_token === undefined) return undefined
  const opened = await open(value, csrf_token)
  if (opened?.path !== c.req.path) return undefined
  deleteCookie(c, NAME, optionsOf(c, opened.path))
  return opened.until < Date.now() ? undefined : opened.news
}

async function open(value: string, csrf_token: string): Promise<v.InferOutput<typeof sealedSchema> | undefined> {
  const bytes = decodeBase64(value)
  if (bytes === undefined) return undefined
  const [iv, sealed] = [new Uint8Array(bytes.subarray(0, IV_BYTES)), new Uint8Array(bytes.subarray(IV_BYTES))]
  try {
    const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, await keyOf(csrf_token), sealed)
    return v.parse(sealedSchema, parseStrictJson(utf8Decode(new Uint8Array(text)) ?? ""))
  } catch {
    // Of another session, or made by nobody here.
    return undefined
  }
}
