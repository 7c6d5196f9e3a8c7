// SPDX-License-Identifier: Apache-2.0
// How a provider is queried and how its answer is read. Each protocol is a file in this folder.

import type { AuthorizationProvider } from "@merlon/policy/mesh"
import type { FieldPairs, Fields } from "@merlon/wire/http"
import type { ProviderAnswer } from "./answer.js"
import type { ProviderQuestion } from "./question.js"

export interface ProviderRequest {
  readonly method: string
  readonly target: string
  readonly host: string | undefined
  readonly headers: FieldPairs
  readonly body: Buffer | undefined
}

/** The complete response, of bounded size. */
export interface AnswerMessage {
  readonly status: number
  readonly headers: Fields
  readonly body: Buffer
  readonly trailers: Fields | undefined
}

export interface ProviderProtocol {
  ask(question: ProviderQuestion, provider: AuthorizationProvider): ProviderRequest
  /** If it throws, the answer is malformed. */
  answer(message: AnswerMessage, provider: AuthorizationProvider): ProviderAnswer
}
