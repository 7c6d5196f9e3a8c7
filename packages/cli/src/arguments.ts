// SPDX-License-Identifier: Apache-2.0
// Parsers of flag values that several commands share. Each rejects invalid values with a message that fits after the
// flag's name.

import { durationMilliseconds } from "@merlon/policy/shape"
import { InvalidArgumentError } from "commander"

export interface Address {
  readonly host: string
  readonly port: number
}

export function whole(minimum: number, maximum: number): (text: string) => number {
  return text => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || number < minimum || number > maximum)
      throw new InvalidArgumentError(`must be a whole number from ${minimum} to ${maximum}`)
    return number
  }
}

export const port = whole(0, 65_535)

export function several(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

export function address(text: string): Address {
  const match = /^(.+):(\d{1,5})$/.exec(text)
  const number = Number(match?.[2])
  if (match?.[1] === undefined || number > 65_535)
    throw new InvalidArgumentError("must have the form HOST:PORT, as 127.0.0.1:15000")
  return { host: match[1].replace(/^\[(.*)\]$/, "$1"), port: number }
}

/** The address of a port without client authentication. Other machines must not reach it, so it must be on loopback. */
export function loopback(text: string): Address {
  const result = address(text)
  if (!/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(result.host))
    throw new InvalidArgumentError("must be a loopback address, as 127.0.0.1:15000")
  return result
}

/** An address that is passed on unchanged. */
export function endpoint(text: string): string {
  if (/[\s/]/.test(text)) throw new InvalidArgumentError("must have the form HOST:PORT, without a scheme")
  address(text)
  return text
}

/** A SPIFFE trust domain (SPIFFE-ID section 2.1). Every identity of the mesh begins with it. */
export function trustDomain(text: string): string {
  if (!/^[a-z0-9._-]{1,255}$/.test(text))
    throw new InvalidArgumentError("must be small letters, digits, dots, hyphens and underscores, as cluster.local")
  return text
}

/** Parses a duration as in policies (`90s`, `24h`) to milliseconds. */
export function duration(text: string): number {
  const milliseconds = durationMilliseconds(text)
  if (milliseconds === undefined || milliseconds <= 0)
    throw new InvalidArgumentError("must be a length of time, as 90s, 10m or 24h")
  return milliseconds
}
