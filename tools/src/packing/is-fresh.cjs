/**
 * Whether built files were made of exactly the present sources (build-stamp.ts). The starting files of verifier and service ask it in a
 * checkout; a published package has neither sources nor this file. CommonJS, since it starts some milliseconds sooner than a module.
 */
const { hash } = require("node:crypto")
const { readFileSync } = require("node:fs")
const { dirname, join } = require("node:path")

/** @param {string} path */
const digestOf = path => hash("sha256", readFileSync(path))

/**
 * @param {string} folder
 * @param {readonly string[]} paths from the folder
 */
const digestOfAll = (folder, paths) =>
  hash("sha256", paths.map(path => `${digestOf(join(folder, path))} ${path}\n`).join(""))

/**
 * A file that cannot be read is not fresh.
 * @param {string} stamp the file `sources.json` beside what was built
 */
function isFresh(stamp) {
  try {
    const folder = dirname(stamp)
    const { sources, sources_digest, built, built_digest } = JSON.parse(readFileSync(stamp, "utf8"))
    return digestOfAll(folder, sources) === sources_digest && digestOfAll(folder, built) === built_digest
  } catch {
    return false
  }
}

module.exports = { digestOfAll, isFresh }
