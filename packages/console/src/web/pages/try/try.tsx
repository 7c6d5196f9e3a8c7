// SPDX-License-Identifier: Apache-2.0
// Playground: evaluate a request from a form or a curl command, and save it as a policy test.

import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react"
import type { Explanation } from "../../api/answers.js"
import { keyOf } from "../../api/objects.js"
import { usePods, useQuestion, useTrustDomain } from "../../api/queries.js"
import { useMayAsk } from "../../api/rights.js"
import { useSearchParameters } from "../../shell/hash-location.js"
import { PageHead } from "../../ui/card.js"
import { ExplanationView } from "../../ui/explanation.js"
import { formText } from "../../ui/form-text.js"
import { Loaded } from "../../ui/loaded.js"
import { requestOf } from "./curl-request.js"
import { questionOf } from "./question.js"
import { SaveAsTest } from "./save-as-test.js"
import "./try.css"

const FIELDS = ["workload", "from", "method", "path", "headers", "claims"] as const
type Field = (typeof FIELDS)[number]
const DEFAULTS: Partial<Record<Field, string>> = { method: "GET", path: "/" }

export function TryIt(): ReactNode {
  const mayAsk = useMayAsk("explanations")
  const [search, change] = useSearchParameters()
  const pods = usePods()
  const trustDomain = useTrustDomain() ?? ""
  const [trouble, setTrouble] = useState("")
  const form = useRef<HTMLFormElement>(null)
  const text = search.toString()
  useEffect(() => fill(form.current, new URLSearchParams(text)), [text])
  const question = questionOf(search)
  const answer = useQuestion<Explanation>("explanations", mayAsk ? question : undefined)
  const lastCurl = useRef("")
  /** Writes the form into the address. A new curl command overrides the other fields. */
  const take = (): void => {
    if (form.current === null) return
    const written = new FormData(form.current)
    const line = formText(written, "curl")
    const read = line === "" || line === lastCurl.current ? {} : requestOf(line)
    setTrouble(typeof read === "string" ? read : "")
    if (typeof read === "string") return
    lastCurl.current = line
    const given: Partial<Record<Field, string>> = read
    change(to => {
      for (const field of FIELDS) {
        const value = given[field] ?? formText(written, field)
        if (value === "") to.delete(field)
        else to.set(field, value)
      }
    })
  }
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    take()
  }
  return (
    <>
      <PageHead title="Playground" sub="Dry run: evaluated against current policies; nothing is sent." />
      {mayAsk === false && (
        <p role="status">
          Evaluating requests needs the right to create <code>explanations</code>, which the role <code>edit</code> has.
        </p>
      )}
      <form className="try card" onSubmit={submit} ref={form}>
        <label className="wide">
          curl command (optional)
          <input
            name="curl"
            placeholder="curl -X DELETE http://web.app/items/1"
            onBlur={({ target }) => target.value !== "" && target.value !== lastCurl.current && take()}
          />
        </label>
        {trouble !== "" && (
          <p role="alert" className="wide">
            {trouble}
          </p>
        )}
        <label>
          Workload (namespace/name)
          <input name="workload" list="workloads" required />
        </label>
        <datalist id="workloads">
          {(pods.data ?? []).slice(0, 500).map(pod => (
            <option key={keyOf(pod)}>{keyOf(pod)}</option>
          ))}
        </datalist>
        <label>
          Caller (empty for plaintext)
          <input name="from" placeholder={`${trustDomain}/ns/app/sa/consumer`} />
        </label>
        <label>
          Method
          <input name="method" />
        </label>
        <label>
          Path
          <input name="path" />
        </label>
        <label>
          Headers (one per line)
          <textarea name="headers" rows={3} />
        </label>
        <label>
          JWT claims (JSON)
          <textarea name="claims" rows={3} />
        </label>
        <button type="submit" className="primary" disabled={mayAsk === false}>
          Evaluate
        </button>
      </form>
      {question !== undefined && mayAsk && (
        <section aria-label="Answer" aria-live="polite" className="card">
          <div className="body">
            <Loaded query={answer}>
              {explanation => (
                <>
                  <ExplanationView of={explanation} />
                  <SaveAsTest question={question} explanation={explanation} />
                </>
              )}
            </Loaded>
          </div>
        </section>
      )}
    </>
  )
}

/** Sets the fields' values in place, so that the focus stays. */
function fill(form: HTMLFormElement | null, search: URLSearchParams): void {
  for (const field of FIELDS) {
    const place = form?.elements.namedItem(field)
    if (place instanceof HTMLInputElement || place instanceof HTMLTextAreaElement) {
      place.value = search.get(field) ?? DEFAULTS[field] ?? ""
    }
  }
}
