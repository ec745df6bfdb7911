/**
 * Stands in the built verifier for `node:child_process`: Commander loads it for commands that are programs of their own, of
 * which the verifier has none. So it starts no program, and starts sooner itself.
 */
module.exports = {}
