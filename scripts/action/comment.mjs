// SPDX-License-Identifier: Apache-2.0
// The last step but one of action.yml: one comment on the pull request, replaced by each run. It runs as it is, on the
// runner's own Node. A token that must not comment, as in a pull request of a fork, is a warning: the summary has it all.

import { readFileSync } from "node:fs"

const MARK = "<!-- merlon policy check -->"
/** GitHub takes 65,536 characters. */
const MOST = 65_000

const { GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_TOKEN, NUMBER = "", REPORT = "" } = process.env

async function github(method, path, body) {
  const response = await fetch(`${GITHUB_API_URL}/repos/${GITHUB_REPOSITORY}/issues/${path}`, {
    method,
    headers: {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${GITHUB_TOKEN}`,
      "content-type": "application/json",
      "x-github-api-version": "2022-11-28",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "error",
    signal: AbortSignal.timeout(30_000),
  })
  if (!response.ok) throw new Error(`${method} ${path}: GitHub answered ${response.status}`)
  return response.json()
}

/** A pull request may have more comments than one page. */
async function formerComment() {
  for (let page = 1; page <= 30; page += 1) {
    const comments = await github("GET", `${NUMBER}/comments?per_page=100&page=${page}`)
    const found = comments.find(({ body }) => typeof body === "string" && body.startsWith(MARK))
    if (found !== undefined) return found.id
    if (comments.length < 100) return undefined
  }
  return undefined
}

function commentText() {
  const text = readFileSync(REPORT, "utf8")
  const shown = text.length <= MOST ? text : `${text.slice(0, MOST)}\n\nThe rest is in the summary of the run.`
  return `${MARK}\n${shown}`
}

try {
  if (!/^\d+$/.test(NUMBER)) throw new Error("there is no pull request to comment on")
  const body = commentText()
  const former = await formerComment()
  if (former === undefined) await github("POST", `${NUMBER}/comments`, { body })
  else await github("PATCH", `comments/${former}`, { body })
} catch (error) {
  const reason = String(error instanceof Error ? error.message : error).replaceAll("\n", " ")
  console.log(`::warning title=Merlon::the comment was not written: ${reason}`)
}
