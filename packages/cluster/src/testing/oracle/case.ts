// SPDX-License-Identifier: Apache-2.0
//
// The recorded cases: requests to a real kube-apiserver with what it answered, in the format test/oracle/README.md
// describes. Read with our own parser, because some integers need 64 bits.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Json, JsonObject } from "../../value.js"
import { parseJson } from "../../wire/json.js"

export interface OracleRequest {
  method: string
  path: string
  query?: Record<string, string | string[]>
  headers?: Record<string, string | null>
  body?: Json
  rawBody?: string
  bodyBase64?: string
  bodyRepeat?: { prefix: string; unit: string; count: number; suffix: string }
  user?:
    | "none"
    | { bearer: string }
    | { name: string; groups?: string[]; uid?: string; extra?: Record<string, string[]> }
  stream?: boolean
}

export interface OracleResponse {
  status: number
  headers?: Record<string, Json>
  body?: Json
  text?: string
}

export interface RequestStep {
  request: OracleRequest
  response: OracleResponse
  select?: string[]
  eventually?: boolean
  during?: Step[]
  webhookCalls?: Json[]
  callsAfter?: number
}

export type Step = RequestStep | { pause: number } | { hook: string }

export interface WebhookRoute {
  status?: number
  body?: Json
  rawBody?: string
  delay?: number
}

export interface OracleCase {
  name: string
  tags?: string[]
  webhooks?: Record<string, WebhookRoute>
  setup?: Step[]
  steps: Step[]
  cleanup?: RequestStep[]
  tokens?: Record<string, JsonObject>
}

export const FOLDER = join(import.meta.dirname, "../../../test/oracle")

function read(file: string): unknown {
  return parseJson(readFileSync(join(FOLDER, file), "utf8")).value
}

export function loadThemes(): [string, OracleCase[]][] {
  return readdirSync(join(FOLDER, "transcripts"))
    .filter(file => file.endsWith(".json"))
    .sort()
    .map(file => [file.slice(0, -".json".length), read(join("transcripts", file)) as OracleCase[]])
}

export const loadFixtures = (): (RequestStep & { ready?: OracleRequest })[] =>
  read("fixtures.json") as (RequestStep & { ready?: OracleRequest })[]
export const loadDifferences = (): Record<string, string> => read("differences.json") as Record<string, string>
