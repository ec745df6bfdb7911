/** Something could not be read or is not what it must be; the message is one clear sentence for the user (exit 2). */
export class InputError extends Error {
  override readonly name = "InputError"
}

/** There is no such file, or the server says that there is none: no trouble of reading it. */
export class MissingInput extends InputError {}
