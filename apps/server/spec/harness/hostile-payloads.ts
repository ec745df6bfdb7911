/** Payloads of one act table that are meant to be read in different ways: mostly near to readable, as an attacker writes them. */
import fc from "fast-check"

/** The table that they are of. */
export const HOSTILE_TABLE = {
  name: "transfer",
  routes: ["payments/transfer"],
  closed: ["/arguments"],
  ignored: ["/arguments/memo"],
  names: {
    amount: { at: "/arguments/amount", type: "decimal", min: "0.01", max: "1000000.00" },
    currency: { at: "/arguments/currency", type: "ascii" },
    payee: { at: "/arguments/to/iban", type: "ascii", case: "upper" },
    cc: { at: "/arguments/cc", type: "strings", optional: true },
    total: { at: "/arguments/items/*/amount", type: "sum", optional: true },
  },
} as const

type Texts = fc.Arbitrary<string>
const oneOf = (...texts: readonly string[]): Texts => fc.constantFrom(...texts)
/** Of every so many draws one is of the second kind. */
const mostly = (usual: Texts, rare: Texts, times: number): Texts =>
  fc.oneof({ weight: times - 1, arbitrary: usual }, { weight: 1, arbitrary: rare })

const ODD = oneOf(
  ...[
    "null",
    "true",
    "{}",
    "[]",
    "[1]",
    '{"amount":1}',
    '""',
    '" "',
    "1e3",
    "1E2",
    "-0",
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
  ],
  ...[
    "-1",
    "0.00001",
    "0.0",
    "999999999999999",
    "100000000000000000000",
    '"1e3"',
    '" 1"',
    '"0x10"',
    '"1_0"',
    '"\\ud800"',
  ],
  ...['"E\\u0000UR"', '"EU\\u200bR"', '"ＥＵＲ"', '"DE 02"', "// x", "'1'", "\ufeff1", "1\u00a0"],
)
const AMOUNTS = mostly(
  fc.oneof(
    oneOf("1", "0.01", "12500.00", "9.5000", '"1.50"', '"250"', "1000000", '"0.0100"', "99.9900", '"1\\u0030"'),
    fc.integer({ min: 1, max: 99_999_999 }).map(units => (units / 100).toFixed(2)),
  ),
  ODD,
  12,
)
const CURRENCIES = mostly(oneOf('"EUR"', '"EU\\u0052"', '"eur"', '"USD"'), ODD, 12)
const IBANS = mostly(oneOf('"DE02"', '"de02"', '"De\\u00302"', '"GB29/7"', '"\\"quoted\\""'), ODD, 12)
const LIST = fc.array(mostly(oneOf('"a"', '"b@x.example"', '"\\u0061"', '"ä"'), ODD, 12), { maxLength: 4 })

/** Names that some reader takes for this one: in another case, escaped, or with a letter that folds to one of it. */
const variants = (name: string): readonly string[] => [
  name.toUpperCase(),
  `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
  name.replaceAll("s", "\u017f").replaceAll("k", "\u212a"),
  name.replace("i", "\u0131"),
  `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  `${name} `,
  `${name}\\u0000`,
  name.replace(/^./, first => String.fromCharCode(first.charCodeAt(0) + 0xfee0)),
]
const member = (name: string, values: Texts): Texts =>
  fc
    .tuple(mostly(fc.constant(name), oneOf(...variants(name)), 16), values, oneOf("", "", " ", "\n\t"))
    .map(([key, value, blank]) => `"${key}"${blank}:${blank}${value}`)

/** A member once, seldom not at all or twice. */
const held = (name: string, values: Texts, optional = false): fc.Arbitrary<readonly string[]> => {
  const once = member(name, values)
  return fc.oneof(
    { weight: optional ? 5 : 20, arbitrary: once.map(text => [text]) },
    { weight: optional ? 5 : 1, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.tuple(once, once) },
  )
}
const objectOf = (...members: readonly fc.Arbitrary<readonly string[]>[]): Texts =>
  fc
    .tuple(...members)
    .map(parts => parts.flat())
    .chain(parts => fc.shuffledSubarray(parts, { minLength: parts.length }))
    .map(parts => `{${parts.join(",")}}`)
const listOf = (items: Texts): Texts => fc.array(items, { maxLength: 4 }).map(texts => `[${texts.join(",")}]`)

const ITEMS = listOf(objectOf(held("amount", AMOUNTS), held("sku", oneOf('"x"', "7"), true)))
const TO = objectOf(held("iban", IBANS), held("name", oneOf('"N. N."'), true))
const ARGUMENTS = objectOf(
  held("amount", AMOUNTS),
  held("currency", CURRENCIES),
  held("to", mostly(TO, ODD, 20)),
  held(
    "cc",
    mostly(
      LIST.map(texts => `[${texts.join(",")}]`),
      ODD,
      12,
    ),
    true,
  ),
  held("items", mostly(ITEMS, ODD, 12), true),
  held("memo", oneOf('"x"', '{"amount":1e9}', "null"), true),
  fc.oneof({ weight: 15, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['"bcc":["z"]']) }),
)
const WHOLE = objectOf(held("tool", oneOf('"transfer"'), true), held("arguments", mostly(ARGUMENTS, ODD, 40)))

/** JSON texts, and some that are nearly JSON. */
export const hostilePayloads: Texts = mostly(
  WHOLE,
  fc.oneof(
    WHOLE.map(text => `${text}x`),
    WHOLE.map(text => `\ufeff${text}`),
    WHOLE.map(text => text.slice(0, -1)),
    WHOLE.map(text => `[${text}]`),
    WHOLE.map(text => text.replace(",", ",,")),
    fc.string(),
  ),
  25,
)
