// SPDX-License-Identifier: Apache-2.0
// A policy's text with faults at their lines, what the change would change, and the way to make it so. Who may not write
// reads the same text.

import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { useLocation } from "wouter"
import { ApiError } from "../../api/client.js"
import { kindNamed } from "../../api/kinds.js"
import { keyOf, type Policy, versionOf } from "../../api/objects.js"
import { policyKey } from "../../api/queries.js"
import { useMayAsk, useMayWrite } from "../../api/rights.js"
import { readDocument } from "../../editor/document.js"
import { YamlEditor } from "../../editor/yaml-editor.js"
import { useSession } from "../../shell/session.js"
import { Failure } from "../../ui/failure.js"
import { Worded } from "../../ui/worded.js"
import { DiffView } from "./diff-view.js"
import { useDryRun } from "./dry-run.js"
import { save } from "./save.js"
import "./policy-editor.css"

interface PolicyEditorProps {
  readonly text: string
  /** What is stored; absent for a new one. */
  readonly stored?: Policy
}

export function PolicyEditor({ text: initial, stored }: PolicyEditorProps): ReactNode {
  const { names } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  /** What the text is a change of. */
  const version = stored && versionOf(stored.metadata)
  const [base, setBase] = useState({ text: initial, version })
  const [text, setText] = useState(initial)
  /** What the editor was told to show; what is typed meanwhile is never in it. */
  const [given, setGiven] = useState({ text: initial })
  const overtaken = version !== base.version
  if (overtaken && text === base.text) {
    setBase({ text: initial, version })
    setText(initial)
    setGiven({ text: initial })
  }
  const [error, setError] = useState<Error>()
  const [warnings, setWarnings] = useState<readonly string[]>([])
  const document = readDocument(text)
  const policy = document.value
  const mayWrite = useMayWrite(kindNamed(stored?.kind ?? policy?.kind), policy?.metadata.namespace)
  const mayAsk = useMayAsk("diffs")
  const changed = text !== base.text || stored === undefined
  const dryRun = useDryRun(changed && mayWrite === true ? policy : undefined, stored)
  const faults = [...document.faults, ...document.placed(dryRun.causes)]
  const apply = async (): Promise<void> => {
    if (policy === undefined) return
    setError(undefined)
    try {
      const saved = await save(names, policy, stored, false)
      setWarnings(saved.warnings)
      // What was asked before it was stored would say that it is not.
      await queries.cancelQueries({ queryKey: ["policy"] })
      if (stored !== undefined) {
        queries.setQueryData(policyKey(names, saved.value), saved.value)
        setBase({ text, version: versionOf(saved.value.metadata) })
      }
      await queries.invalidateQueries({ queryKey: ["policies"] })
      navigate(`/policies/${saved.value.kind ?? policy.kind}/${keyOf(saved.value)}`)
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)))
    }
  }
  return (
    <section aria-label="Text" className="editor">
      <YamlEditor
        given={given}
        // What is typed before the cluster has said who may write is not lost.
        readOnly={stored !== undefined && mayWrite === false}
        faults={faults}
        kind={policy?.kind}
        onChange={setText}
      />
      <div className="beside">
        <h2>What this would change</h2>
        {!changed && <p className="hint">Nothing yet: this is what is stored.</p>}
        {changed && faults.length > 0 && (
          <ul className="faults" aria-label="Faults">
            {faults.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                line {line}: <Worded text={message} />
              </li>
            ))}
          </ul>
        )}
        {changed && dryRun.error !== undefined && dryRun.causes.length === 0 && <Failure error={dryRun.error} />}
        {[...new Set([...dryRun.warnings, ...warnings])].map(warning => (
          <p key={warning} className="warning">
            <Worded text={warning} />
          </p>
        ))}
        {changed && faults.length === 0 && policy !== undefined && mayAsk && <DiffView policy={policy} />}
        {error !== undefined && !(error instanceof ApiError && error.causes.length > 0) && <Failure error={error} />}
        {overtaken && (
          <p className="warning">
            Somebody has changed it meanwhile.{" "}
            <button type="button" onClick={() => setText(base.text)}>
              Take what is stored, drop mine
            </button>
          </p>
        )}
        {mayWrite && (
          <button
            type="button"
            className="primary"
            disabled={overtaken || !changed || faults.length > 0 || !dryRun.passed}
            onClick={() => void apply()}
          >
            Apply
          </button>
        )}
        {mayWrite === false && <p className="hint">You may read this and not change it.</p>}
      </div>
    </section>
  )
}
