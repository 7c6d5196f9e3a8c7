// SPDX-License-Identifier: Apache-2.0
// The states of a workload on the way to STRICT, in the order in which the page shows them.

import type { Readiness } from "../../api/answers.js"
import type { Tone } from "../../ui/mark.js"

export const STATES: readonly { readonly state: Readiness["state"]; readonly tone: Tone; readonly words: string }[] = [
  { state: "waiting", tone: "warn", words: "receives plaintext" },
  { state: "unknown", tone: "quiet", words: "not observed long enough" },
  { state: "ready", tone: "good", words: "ready for STRICT" },
  { state: "strict", tone: "good", words: "STRICT" },
]
