// SPDX-License-Identifier: Apache-2.0
// The request and its verdict as a policy test for `merlonctl test`.

import { type ReactNode, useState } from "react"
import type { Explanation } from "../../api/answers.js"
import { keyOf, type Pod } from "../../api/objects.js"
import { usePods } from "../../api/queries.js"
import { useSession } from "../../shell/session.js"
import { download } from "../../ui/download.js"
import { policyTest } from "./policy-test.js"
import type { Asked } from "./question.js"

interface SaveAsTestProps {
  readonly question: Asked
  readonly explanation: Explanation
}

export function SaveAsTest({ question, explanation }: SaveAsTestProps): ReactNode {
  const { names } = useSession()
  const pods = usePods()
  const [copied, setCopied] = useState(false)
  const pod: Pod | undefined = pods.data?.find(
    one => keyOf(one) === question.workload || keyOf(one).startsWith(`${question.workload}-`),
  )
  const text = policyTest(names.domain, question, explanation, pod?.metadata.labels ?? {})
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  const file = `${question.workload.replace("/", "-")}.test.yaml`
  return (
    <details>
      <summary>Save as a policy test</summary>
      <pre>{text}</pre>
      <p className="bar">
        <button type="button" onClick={() => download(file, text, "application/yaml")}>
          Download
        </button>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <span role="status">{copied && "copied"}</span>
      </p>
      <p className="hint">
        Keep it next to your policies and run it with <code>merlonctl test</code>.
      </p>
    </details>
  )
}
