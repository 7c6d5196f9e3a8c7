// SPDX-License-Identifier: Apache-2.0
// Relative times in the browser's language, with the absolute time on hover.

import type { ReactNode } from "react"

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
]
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" })
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" })
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
})
const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" })
const number = new Intl.NumberFormat()

export function Ago({ at }: { readonly at: string | undefined }): ReactNode {
  const time = Date.parse(at ?? "")
  if (!Number.isFinite(time)) return "never"
  const seconds = Math.round((time - Date.now()) / 1_000)
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1]
  return (
    <time dateTime={at} title={exact.format(time)}>
      {relative.format(Math.trunc(seconds / size), unit)}
    </time>
  )
}

export function Clock({ at }: { readonly at: string }): ReactNode {
  const time = Date.parse(at)
  if (!Number.isFinite(time)) return at
  return (
    <time dateTime={at} title={exact.format(time)}>
      {clock.format(time)}
    </time>
  )
}

/** As `14:05`. */
export function minuteOf(time: string | number): string {
  return minute.format(new Date(time))
}

export function count(value: number): string {
  return number.format(value)
}
