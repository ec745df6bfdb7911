/** A label that accepts a file: chosen, dropped on it, or by keyboard through the input inside it. */
import { byId } from "./elements.ts"

/**
 * Calls `take` with each file that the zone `#<name>-zone` and its input `#<name>-file` are given, and `many` where several are dropped
 * at once: what is then shown of one would be taken for all.
 */
export function createDropZone(name: string, take: (file: File) => void, many: () => void): void {
  const zone = byId(`${name}-zone`)
  const input = byId(`${name}-file`)
  if (!(input instanceof HTMLInputElement)) throw new Error(`#${name}-file is no input`)
  input.addEventListener("change", () => {
    const [file] = input.files ?? []
    if (file !== undefined) take(file)
    // Else choosing the same file again, after an edit, would fire no event.
    input.value = ""
  })
  const mark = (over: boolean): void => void zone.classList.toggle("over", over)
  zone.addEventListener("dragover", () => mark(true))
  zone.addEventListener("dragleave", () => mark(false))
  zone.addEventListener("drop", event => {
    mark(false)
    const [file, other] = event.dataTransfer?.files ?? []
    if (other !== undefined) many()
    else if (file !== undefined) take(file)
  })
}

/** Prevents a file that is dropped beside a zone from being opened in place of the page. */
export function preventFileNavigation(): void {
  for (const name of ["dragover", "drop"]) document.addEventListener(name, event => event.preventDefault())
}
