/** What every page does with a script: `/` leads to the search, times say what the visitor's own clock shows, and what is worth copying has a button. */

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" })
const ZONE = LOCAL.resolvedOptions().timeZone
/** How long a button shows that it copied. */
const SHOWN_MS = 1600
/** Elements that get a button; a page with more is a list of everything. */
const MAX_BUTTONS = 500

/** `/` typed anywhere but into a field. */
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
  const field = document.querySelector('[aria-keyshortcuts="/"]')
  if (!(field instanceof HTMLInputElement)) return
  event.preventDefault()
  field.focus()
  field.select()
})

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, select, textarea"))

/** The page says UTC; what is under the pointer says the visitor's own time too. */
document.addEventListener("pointerover", ({ target }) => {
  const time = target instanceof Element ? target.closest("time[datetime]") : null
  if (!(time instanceof HTMLTimeElement) || time.dataset.local !== undefined) return
  const at = new Date(time.dateTime)
  if (Number.isNaN(at.getTime())) return
  time.dataset.local = ""
  time.title = `${LOCAL.format(at)} (${ZONE}); ${time.dateTime}`
})

/** The text of an element that can be copied: as it is, or a command that names this address. */
function textOf({ dataset }: HTMLElement): string {
  if (dataset.curl !== undefined)
    return `curl -sS '${new URL(dataset.curl, location.origin).href}' -H "X-Service-Key: $KEY"${dataset.file === undefined ? "" : ` -o ${dataset.file}`}`
  return dataset.copy ?? ""
}

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  const result = await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not copied",
  )
  const { textContent: before } = button
  if (button.dataset.copied !== undefined) return
  button.dataset.copied = ""
  button.textContent = result
  setTimeout(() => {
    button.textContent = before
    delete button.dataset.copied
  }, SHOWN_MS)
}

/** A button of the server's page, or a new one behind what it copies. */
function buttonOf(element: HTMLElement): HTMLButtonElement {
  if (element instanceof HTMLButtonElement) return element
  const made = document.createElement("button")
  made.type = "button"
  made.className = "copy"
  made.textContent = "Copy"
  made.setAttribute("aria-label", `Copy ${element.dataset.name ?? element.textContent}`)
  element.after(made)
  return made
}

/** Those that have one. */
const given = new WeakSet<Element>()

function giveButtons(): void {
  for (const element of [...document.querySelectorAll("[data-copy], [data-curl]")].slice(0, MAX_BUTTONS)) {
    if (!(element instanceof HTMLElement) || given.has(element)) continue
    given.add(element)
    const button = buttonOf(element)
    button.hidden = false
    button.setAttribute("aria-live", "polite")
    button.addEventListener("click", () => copy(button, textOf(element)))
  }
}

// Over plain http, but on this machine, browsers have no clipboard for pages.
if (navigator.clipboard !== undefined) {
  giveButtons()
  document.addEventListener("runseal-refreshed", giveButtons)
}
