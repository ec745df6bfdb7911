/**
 * Replaces `node:child_process` in the built verifier. Commander loads that for commands that are separate programs, of which the
 * verifier has none. So the verifier cannot start a program, and starts sooner itself.
 */
module.exports = {}
