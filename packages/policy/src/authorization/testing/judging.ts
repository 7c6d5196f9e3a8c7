// SPDX-License-Identifier: Apache-2.0
// Short forms of rules, and helpers that judge one request by them.

import { compile, decide } from "../../program.js"
import type { Condition, Operation, Rule, Source } from "../../resources/authorization-policy/definition.js"
import { type Asked, allow, httpRequest, mesh, naming, workload } from "./requests.js"

export const from = (source: Source): Rule => ({ from: [{ source }] })
export const to = (operation: Operation): Rule => ({ to: [{ operation }] })
export const when = (key: string, condition: Omit<Condition, "key">): Rule => ({ when: [{ key, ...condition }] })

/** Whether an ALLOW policy with this one rule allows the request, if RequestAuthentications name these issuers. */
export const matches = (rule: Rule, asked: Asked, issuers: readonly string[] = [], config = mesh): boolean =>
  decide(compile([allow(rule), naming(issuers)], workload, config), httpRequest(asked, config)).verdict === "allow"
