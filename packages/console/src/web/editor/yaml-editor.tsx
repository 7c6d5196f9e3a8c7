// SPDX-License-Identifier: Apache-2.0
// CodeMirror for YAML, in the page's colours, with completion from the kind's schema and errors at their positions.

import { autocompletion, completionKeymap } from "@codemirror/autocomplete"
import { yaml } from "@codemirror/lang-yaml"
import { lintGutter, setDiagnostics } from "@codemirror/lint"
import { Compartment, EditorState } from "@codemirror/state"
import { EditorView, keymap } from "@codemirror/view"
import { useQuery } from "@tanstack/react-query"
import { basicSetup } from "codemirror"
import { type ReactNode, useEffect, useRef } from "react"
import { api } from "../api/client.js"
import { kindNamed, VERSION } from "../api/kinds.js"
import { useSession } from "../shell/session.js"
import { completionFrom } from "./completion.js"
import type { DocumentError } from "./document.js"
import { type OpenApi, schemaOf } from "./schema.js"
import { THEME } from "./theme.js"

interface YamlEditorProps {
  /** The initial text; a new one replaces the current text, also if the user has edited it. */
  readonly given: { readonly text: string }
  readonly readOnly: boolean
  readonly errors: readonly DocumentError[]
  readonly kind: string | undefined
  readonly onChange: (text: string) => void
}

export function YamlEditor({ given, readOnly, errors, kind, onChange }: YamlEditorProps): ReactNode {
  const { names } = useSession()
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const changeable = useRef(new Compartment())
  const completing = useRef(new Compartment())
  const shown = useRef(given)
  const changed = useRef(onChange)
  changed.current = onChange
  const entry = kindNamed(kind)
  const group = entry && names[entry.group]
  const openApi = useQuery({
    queryKey: ["openapi", group],
    queryFn: () => api<OpenApi>(`/openapi/v3/apis/${group}/${VERSION}`),
    enabled: group !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })

  useEffect(() => {
    if (place.current === null) return
    const nonce = document.querySelector<HTMLMetaElement>("meta[name=style-nonce]")?.content ?? ""
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: shown.current.text,
        extensions: [
          basicSetup,
          yaml(),
          THEME,
          lintGutter(),
          EditorView.cspNonce.of(nonce),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Policy as YAML" }),
          // Tab leaves the editor, as in other fields. Enter accepts a completion.
          keymap.of([...completionKeymap]),
          changeable.current.of([]),
          completing.current.of([]),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) changed.current(state.doc.toString())
          }),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [])

  // Replaces the text in place, so that the read-only state, completion and the undo history stay.
  useEffect(() => {
    const current = view.current
    if (current === null || shown.current === given) return
    shown.current = given
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: given.text } })
  }, [given])

  useEffect(() => {
    view.current?.dispatch({
      effects: changeable.current.reconfigure([EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)]),
    })
  }, [readOnly])

  useEffect(() => {
    const schema = openApi.data && kind !== undefined ? schemaOf(openApi.data, kind) : undefined
    const override = schema === undefined ? [] : [completionFrom(schema)]
    view.current?.dispatch({ effects: completing.current.reconfigure(autocompletion({ override })) })
  }, [openApi.data, kind])

  useEffect(() => {
    const current = view.current
    if (current === null) return
    const { length } = current.state.doc
    const diagnostics = errors.map(({ from, to, message }) => ({
      from: Math.min(from, length),
      to: Math.min(Math.max(to, from), length),
      severity: "error" as const,
      message,
    }))
    current.dispatch(setDiagnostics(current.state, diagnostics))
  }, [errors])

  return <div className="yaml" ref={place} />
}
