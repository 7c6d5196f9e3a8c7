// SPDX-License-Identifier: Apache-2.0
// Parses a curl command line into the request that it would send. It reads only options that affect the request's head.
// Options that do not, such as `-s`, are skipped; an unknown option is reported rather than guessed.

import type { DescribedRequest } from "./described-request.js"
import { RequestDescriptionError } from "./request-description-error.js"

/** Options with a value that do not affect the head. */
const PASSED_WITH_VALUE = new Set(
  "-o --output -w --write-out -m --max-time --connect-timeout --cacert --capath --cert --key -E --retry --resolve --unix-socket -x --proxy --ciphers --tls-max --interface".split(
    " ",
  ),
)
const PASSED = new Set(
  "-s -S -sS -k -f -i -v -L -g --silent --show-error --insecure --fail --fail-with-body --include --verbose --location --globoff --compressed --http1.1 --http2 --http2-prior-knowledge --http1.0 -0 --path-as-is --no-progress-meter -fsS -fsSL -sk -ks -sSf -vk".split(
    " ",
  ),
)
const BODY = new Set([
  "-d",
  "--data",
  "--data-raw",
  "--data-binary",
  "--data-urlencode",
  "--json",
  "-F",
  "--form",
  "-T",
])

export function readCurl(line: string): DescribedRequest {
  const words = shellWords(line)
  if (words[0] === "curl") words.shift()
  // A Map rather than an object, so that `constructor` is an ordinary name.
  const headers = new Map<string, string[]>()
  const header = (name: string, value: string): void => {
    const key = name.toLowerCase()
    headers.set(key, [...(headers.get(key) ?? []), value])
  }
  let method: string | undefined
  let body = false
  let url: string | undefined
  while (words.length > 0) {
    const [option, attached] = parted(words.shift() ?? "")
    const value = (): string => attached ?? words.shift() ?? missing(option)
    if (!option.startsWith("-")) url = option
    else if (option === "--url") url = value()
    else if (option === "-X" || option === "--request") method = value()
    else if (option === "-I" || option === "--head") method ??= "HEAD"
    else if (option === "-G" || option === "--get") method ??= "GET"
    else if (option === "-H" || option === "--header") addLine(value(), header)
    else if (option === "-A" || option === "--user-agent") header("user-agent", value())
    else if (option === "-e" || option === "--referer") header("referer", value())
    else if (option === "-b" || option === "--cookie") header("cookie", value())
    else if (option === "--oauth2-bearer") header("authorization", `Bearer ${value()}`)
    else if (option === "-u" || option === "--user") header("authorization", basic(value()))
    else if (BODY.has(option)) body = value() !== "\0"
    else if (PASSED_WITH_VALUE.has(option)) value()
    else if (!PASSED.has(option)) {
      throw new RequestDescriptionError(
        `the option \`${option}\` of curl is not read; say what it does with flags of our own`,
      )
    }
  }
  if (url === undefined) throw new RequestDescriptionError("the curl line has no URL")
  const place = placeOf(url, headers)
  return { ...place, method: method ?? (body ? "POST" : "GET"), headers: Object.fromEntries(headers) }
}

/** As in curl, a `Host` header takes precedence over the URL's host. */
function placeOf(url: string, headers: Map<string, string[]>): Pick<DescribedRequest, "host" | "path"> {
  const match = /^(?:([a-z]+):\/\/)?([^/?#]*)([^#]*)/i.exec(url)
  const named = match?.[2]?.replace(/^[^@]*@/, "") ?? ""
  const host = headers.get("host")?.[0] ?? named.replace(/:(80|443)$/, "")
  headers.delete("host")
  const path = match?.[3] ?? ""
  return { host, path: path.startsWith("/") ? path : `/${path}` }
}

function addLine(line: string, header: (name: string, value: string) => void): void {
  const colon = line.indexOf(":")
  // `Name;` sends an empty header, `Name:` sends none.
  if (colon > 0 && line.slice(colon + 1).trim() !== "")
    header(line.slice(0, colon).trim(), line.slice(colon + 1).trim())
  else if (line.endsWith(";")) header(line.slice(0, -1), "")
}

/** Does not use Node's `Buffer`, because the console parses lines with this too. */
function basic(user: string): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(user)))}`
}

function missing(option: string): never {
  throw new RequestDescriptionError(`the option \`${option}\` of the curl line has no value`)
}

/** `--header=x` and `-XPUT` contain their value. */
function parted(word: string): readonly [option: string, value: string | undefined] {
  const equals = word.indexOf("=")
  if (word.startsWith("--") && equals > 0) return [word.slice(0, equals), word.slice(equals + 1)]
  if (/^-[XHAebudFToE]./.test(word)) return [word.slice(0, 2), word.slice(2)]
  return [word, undefined]
}

/** Splits a line like a shell: quotes, backslashes, and continued lines. Nothing is expanded. */
export function shellWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: string | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    if (quote !== undefined) {
      if (character === quote) quote = undefined
      else if (character === "\\" && quote === '"' && /["\\$`\n]/.test(line.charAt(at + 1))) word += line.charAt(++at)
      else word += character
    } else if (character === "'" || character === '"') {
      quote = character
      word ??= ""
    } else if (character === "\\") {
      const next = line.charAt(++at)
      if (next !== "\n") word = (word ?? "") + next
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? "") + character
  }
  if (quote !== undefined) throw new RequestDescriptionError(`the line has an open ${quote}`)
  return word === undefined ? words : [...words, word]
}
