// SPDX-License-Identifier: Apache-2.0
// The text of a policy with errors at their lines, the proved effect of the change, and Apply. The text is read-only for
// users who may not write it.

import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { useLocation } from "wouter"
import { ApiError } from "../../api/client.js"
import { kindNamed } from "../../api/kinds.js"
import { keyOf, type Policy, versionOf } from "../../api/objects.js"
import { policyKey, usePods } from "../../api/queries.js"
import { useMayAsk, useMayWrite } from "../../api/rights.js"
import { readDocument } from "../../editor/document.js"
import { YamlEditor } from "../../editor/yaml-editor.js"
import { useSession } from "../../shell/session.js"
import { Card } from "../../ui/card.js"
import { DisabledButton } from "../../ui/disabled-button.js"
import { Failure } from "../../ui/failure.js"
import { Worded } from "../../ui/worded.js"
import { DiffView } from "./diff-view.js"
import { useDryRun } from "./dry-run.js"
import { InvariantVerdict } from "./invariant-verdict.js"
import { LabelOffers, replaceLabel } from "./label-offers.js"
import { type NearestLabel, nearestLabels } from "./nearest-labels.js"
import { save } from "./save.js"
import "./policy-editor.css"

interface PolicyEditorProps {
  readonly text: string
  /** The stored policy; undefined for a new one. */
  readonly stored?: Policy
}

export function PolicyEditor({ text: initial, stored }: PolicyEditorProps): ReactNode {
  const { names } = useSession()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  /** The stored version that the text is based on. */
  const version = stored && versionOf(stored.metadata)
  const [base, setBase] = useState({ text: initial, version })
  const [text, setText] = useState(initial)
  /** The last text that was passed to the editor. */
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
  const errors = [...document.errors, ...document.placed(dryRun.causes)]
  const apply = async (): Promise<void> => {
    if (policy === undefined) return
    setError(undefined)
    try {
      const saved = await save(names, policy, stored, false)
      setWarnings(saved.warnings)
      // A running query could still return the old state.
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
  const pods = usePods()
  const nearest = policy && pods.data && nearestLabels(policy, pods.data, names.rootNamespace)
  const chooseLabel = (label: NearestLabel): void => {
    const next = replaceLabel(text, label)
    setText(next)
    setGiven({ text: next })
  }
  const isReady = !overtaken && changed && errors.length === 0 && dryRun.passed
  const offers = changed && errors.length === 0 && nearest !== undefined && nearest.length > 0 ? nearest : undefined
  return (
    <section aria-label="Text" className="editor">
      <YamlEditor
        given={given}
        // Writable until the permissions are known, so that text typed meanwhile is kept.
        readOnly={stored !== undefined && mayWrite === false}
        errors={errors}
        kind={policy?.kind}
        onChange={setText}
      />
      <Card
        title="Effect of this change"
        className="beside"
        // The button is at the top, where it does not move when the effect below it grows.
        note={
          mayWrite && (
            <button
              type="button"
              className={offers === undefined ? "primary" : ""}
              disabled={!isReady}
              onClick={() => void apply()}
            >
              {offers === undefined ? "Apply" : "Apply anyway"}
            </button>
          )
        }
      >
        {!changed && <p className="hint">No changes: this is the stored version.</p>}
        {changed && errors.length > 0 && (
          <ul className="errors" aria-label="Errors">
            {errors.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                line {line}: <Worded text={message} />
              </li>
            ))}
          </ul>
        )}
        {changed && <InvariantVerdict dryRun={dryRun} kind={policy?.kind} />}
        {changed && errors.length === 0 && policy !== undefined && mayAsk && <DiffView policies={[policy]} />}
        {[...new Set([...dryRun.warnings, ...warnings])].map(warning => (
          <p key={warning} className="warning">
            <Worded text={warning} />
          </p>
        ))}
        {error !== undefined && !(error instanceof ApiError && error.causes.length > 0) && <Failure error={error} />}
        {overtaken && (
          <p className="warning">
            This policy changed on the server while you edited it.{" "}
            <button type="button" onClick={() => setText(base.text)}>
              Load the stored version, discard mine
            </button>
          </p>
        )}
        {offers !== undefined && <LabelOffers offers={offers} choose={chooseLabel} />}
        {mayWrite === false && (
          <DisabledButton label="Apply">
            You can read this policy but not change it. The role <code>admin</code> of the namespace can.
          </DisabledButton>
        )}
      </Card>
    </section>
  )
}
