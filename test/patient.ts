// SPDX-License-Identifier: Apache-2.0
// Settings for the programs under test that give them the time a busy machine needs. What happens when a time is up is an
// answer of its own, which units try.

export const PATIENT = {
  MERLON_PROOF_BUDGET: "8000",
  MERLON_XCLIENT_REQUEST_TIMEOUT: "60s",
} as const
