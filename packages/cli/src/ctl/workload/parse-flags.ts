// SPDX-License-Identifier: Apache-2.0
// Parses the flags of a workload: labels and ports.

import { InvalidArgumentError } from "commander"
import type { DeclaredPort } from "./declared-pod.js"

type Labels = { readonly [name: string]: string }

const LABEL_NAME = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/
/** Protocols that the name of a port can declare. */
export const PROTOCOLS = ["http", "http2", "grpc", "tcp", "tls", "https"]

/** Parses `app=web,version=v1` (repeatable). */
export function labels(text: string, before: Labels = {}): Labels {
  const pairs = text.split(",").map(pair => {
    const at = pair.indexOf("=")
    const [name, value] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()]
    if (at < 1 || !LABEL_NAME.test(name) || !LABEL_VALUE.test(value)) {
      throw new InvalidArgumentError(`\`${pair}\` is no label; write NAME=VALUE, as app=web,version=v1`)
    }
    return [name, value] as const
  })
  return { ...before, ...Object.fromEntries(pairs) }
}

/** Parses `8080` or `8080/http` (repeatable). */
export function declaredPort(text: string, before: readonly DeclaredPort[]): readonly DeclaredPort[] {
  const [, digits = "", protocol] = /^(\d{1,5})(?:\/([a-z0-9]+))?$/.exec(text) ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) {
    throw new InvalidArgumentError("must be a port from 1 to 65535, with its protocol if you like: 8080/http")
  }
  if (protocol !== undefined && !PROTOCOLS.includes(protocol)) {
    throw new InvalidArgumentError(`\`${protocol}\` is no protocol of ours; they are ${PROTOCOLS.join(", ")}`)
  }
  if (before.some(other => other.port === port)) throw new InvalidArgumentError(`${port} is there twice`)
  return [...before, { port, protocol }]
}
