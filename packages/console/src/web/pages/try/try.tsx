// SPDX-License-Identifier: Apache-2.0
// Try it: a request by form or curl line, what would become of it and why, and the same as a policy test.

import { type FormEvent, type ReactNode, useState } from "react"
import type { Explanation } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { useAsked, usePods } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { ExplanationView } from "../../ui/explanation.js"
import { formText } from "../../ui/form-text.js"
import { Loaded } from "../../ui/loaded.js"
import { requestOf } from "./curl-request.js"
import { questionOf } from "./question.js"
import { SaveAsTest } from "./save-as-test.js"
import "./try.css"

const FIELDS = ["workload", "from", "method", "path", "headers", "claims"] as const
type Field = (typeof FIELDS)[number]

export function TryIt(): ReactNode {
  const mayAsk = useMayAsk("explanations")
  const [search, change] = useSearchParameters()
  const pods = usePods()
  const [trouble, setTrouble] = useState("")
  const of = (field: Field): string => search.get(field) ?? ""
  const question = questionOf(search)
  const answer = useAsked<Explanation>("explanations", mayAsk ? question : undefined)
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    change(to => {
      for (const field of FIELDS) {
        const value = formText(form, field)
        if (value === "") to.delete(field)
        else to.set(field, value)
      }
    })
  }
  const takeCurl = (line: string): void => {
    const read = requestOf(line)
    setTrouble(typeof read === "string" ? read : "")
    if (typeof read === "string") return
    change(to => {
      for (const [field, value] of Object.entries(read)) to.set(field, value)
    })
  }
  return (
    <>
      <h1>Try a request</h1>
      <p className="hint">Nothing is sent: the request is judged as a proxy would, by the policies of now.</p>
      {mayAsk === false && (
        <p role="status">Trying requests takes the right to create `explanations`, which you do not have.</p>
      )}
      <form className="try" onSubmit={submit} key={search.toString()}>
        <label className="wide">
          A curl line, if you have one
          <input
            name="curl"
            placeholder="curl -X DELETE http://web.app/items/1"
            onBlur={({ target }) => target.value !== "" && takeCurl(target.value)}
          />
        </label>
        {trouble !== "" && (
          <p role="alert" className="wide">
            {trouble}
          </p>
        )}
        <label>
          Workload, as namespace/name
          <input name="workload" list="workloads" required defaultValue={of("workload")} />
        </label>
        <datalist id="workloads">
          {(pods.data ?? []).slice(0, 500).map(pod => (
            <option key={keyOf(pod)}>{keyOf(pod)}</option>
          ))}
        </datalist>
        <label>
          Caller, empty for plaintext
          <input name="from" defaultValue={of("from")} placeholder="cluster.local/ns/app/sa/consumer" />
        </label>
        <label>
          Method
          <input name="method" defaultValue={of("method") || "GET"} />
        </label>
        <label>
          Path
          <input name="path" defaultValue={of("path") || "/"} />
        </label>
        <label>
          Headers, one a line
          <textarea name="headers" rows={3} defaultValue={of("headers")} />
        </label>
        <label>
          Claims of a good token, as JSON
          <textarea name="claims" rows={3} defaultValue={of("claims")} />
        </label>
        <button type="submit">Judge</button>
      </form>
      {question !== undefined && mayAsk && (
        <section aria-label="Answer" aria-live="polite">
          <Loaded query={answer}>
            {explanation => (
              <>
                <ExplanationView of={explanation} />
                <SaveAsTest question={question} explanation={explanation} />
              </>
            )}
          </Loaded>
        </section>
      )}
    </>
  )
}
