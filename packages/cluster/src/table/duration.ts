// SPDX-License-Identifier: Apache-2.0
//
// Ages as kubectl formats them: at most two units, with less precision for older objects.

function humanDuration(millis: number): string {
  if (millis < -2000) return "<invalid>"
  const seconds = Math.floor(Math.max(millis, 0) / 1000)
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  if (years < 8) return days % 365 === 0 ? `${years}y` : `${years}y${days % 365}d`
  return `${years}y`
}

export function ageOf(timestamp: unknown, now: number): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>"
  const time = Date.parse(timestamp)
  return Number.isNaN(time) ? "<unknown>" : humanDuration(now - time)
}
