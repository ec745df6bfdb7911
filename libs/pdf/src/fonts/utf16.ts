/** A surrogate without its partner; no strictly parsed text holds one. */
const LONE_SURROGATE = /\p{Cs}/gu

/** Text in which every code unit is part of a character; U+FFFD replaces every lone surrogate. */
export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATE, "\ufffd")
}

/** UTF-16BE in hexadecimal digits. */
export function utf16Hex(text: string): string {
  let digits = ""
  const whole = wellFormed(text)
  for (let index = 0; index < whole.length; index++) digits += whole.charCodeAt(index).toString(16).padStart(4, "0")
  return digits
}
