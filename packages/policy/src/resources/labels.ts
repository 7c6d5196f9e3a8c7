// SPDX-License-Identifier: Apache-2.0
// Checks labels and label selectors.

import { shown } from "./document-error.js"
import type { Field } from "./field.js"

// Kubernetes: an optional DNS prefix and a slash, then a name of at most 63 characters.
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/

export function checkSelector(selector: Field): void {
  if (!selector.present) return
  const labels = selector.field("matchLabels")
  if (labels.entries.length === 0) {
    selector.warn(
      "empty-selector",
      "workload selector specified without labels",
      "name labels under `matchLabels`, or remove `selector` to apply the policy to every workload in scope",
    )
  }
  checkLabels(labels, "selector")
}

/** `where` is what messages call the place: `selector` or `labels`. */
export function checkLabels(labels: Field, where: "selector" | "labels"): void {
  for (const [key, field] of labels.entries) {
    const value = field.text ?? ""
    const pair = shown(`${key}=${value}`)
    if (key === "") {
      field.error("empty-value", `empty key is not supported in ${where}: "${pair}"`, "write the label's name")
    } else if (key.includes("*") || value.includes("*")) {
      field.error("bad-value", `wildcard is not supported in ${where}: "${pair}"`, "write the label exactly")
    } else if (!LABEL_KEY.test(key) || !LABEL_VALUE.test(value)) {
      field.warn("label-syntax", `no workload can have the label "${pair}"`, "use letters, digits, `-`, `_` and `.`")
    }
  }
}
