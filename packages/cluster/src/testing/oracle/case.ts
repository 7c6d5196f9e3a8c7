// SPDX-License-Identifier: Apache-2.0
// Recorded cases: requests to a real kube-apiserver with its responses, in the format of test/oracle/README.md. Parsed
// with our own JSON parser, because some integers need 64 bits.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Json, JsonObject } from "../../value.js"
import { parseJson } from "../../wire/json.js"

export interface OracleRequest {
  readonly method: string
  readonly path: string
  readonly query?: Record<string, string | string[]>
  readonly headers?: Record<string, string | null>
  readonly body?: Json
  readonly rawBody?: string
  readonly bodyBase64?: string
  readonly bodyRepeat?: { prefix: string; unit: string; count: number; suffix: string }
  user?:
    | "none"
    | { bearer: string }
    | { name: string; groups?: string[]; uid?: string; extra?: Record<string, string[]> }
  readonly stream?: boolean
}

export interface OracleResponse {
  readonly status: number
  readonly headers?: Record<string, Json>
  readonly body?: Json
  readonly text?: string
}

export interface RequestStep {
  readonly request: OracleRequest
  readonly response: OracleResponse
  readonly select?: string[]
  readonly eventually?: boolean
  readonly during?: Step[]
  readonly webhookCalls?: Json[]
  readonly callsAfter?: number
}

export type Step = RequestStep | { pause: number } | { hook: string }

export interface WebhookRoute {
  readonly status?: number
  readonly body?: Json
  readonly rawBody?: string
  readonly delay?: number
}

export interface OracleCase {
  readonly name: string
  readonly tags?: string[]
  readonly webhooks?: Record<string, WebhookRoute>
  readonly setup?: Step[]
  readonly steps: Step[]
  readonly cleanup?: RequestStep[]
  readonly tokens?: Record<string, JsonObject>
}

const FOLDER = join(import.meta.dirname, "../../../test/oracle")

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
