// SPDX-License-Identifier: Apache-2.0
// The lines of a policy that a change adds and removes, with some lines of context.

import type { ReactNode } from "react"
import { stringify } from "yaml"
import type { Policy } from "../../api/objects.js"
import { lineDiff } from "./line-diff.js"
import "./allow.css"

export function ChangedLines({ from, to }: { readonly from: Policy; readonly to: Policy }): ReactNode {
  const lines = lineDiff(stringify(from.spec), stringify(to.spec))
  const indent = Math.min(...lines.map(({ text }) => text.search(/\S|$/)))
  return (
    <pre className="lines">
      {lines.map(({ sign, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one diff have no other key
        <span key={at} className={sign === "+" ? "added" : sign === "-" ? "removed" : ""}>
          {sign} {text.slice(indent)}
          {"\n"}
        </span>
      ))}
    </pre>
  )
}
