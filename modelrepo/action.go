package modelrepo

import "slices"

// Action is an operation that a webhook can be registered for. [Actions] lists them all.
type Action string

// The actions of version 1 of the interface, and those of creation.
const (
	ContentUpload      Action = "content_upload"
	ContentDelete      Action = "content_delete"
	ModelDelete        Action = "model_delete"
	ModelVersionDelete Action = "model_version_delete"
	NamespaceDelete    Action = "namespace_delete"
	NamespaceCreate    Action = "namespace_create"
	ModelCreate        Action = "model_create"
	ModelVersionCreate Action = "model_version_create"
)

// ActionInfo describes an action.
type ActionInfo struct {
	Action Action
	// Text says for people what has happened, such as "model created".
	Text string
	// Deletes reports that nothing is left at the path of the action.
	Deletes bool

	effect effect
}

// effect is the state after an action, by which a process finds out whether the action of another one has
// happened.
type effect int

const (
	nodePresent effect = iota + 1 // there is a node at the path
	nodeAbsent
	contentPresent // the node has content of the format, uploaded since the action began
	contentAbsent
)

// Actions returns all actions. An action that is added here is accepted for webhooks and offered on
// the pages; the tests name what else it needs.
func Actions() []ActionInfo {
	return []ActionInfo{
		{Action: ContentUpload, Text: "content uploaded", effect: contentPresent},
		{Action: ContentDelete, Text: "content deleted", effect: contentAbsent},
		{Action: ModelDelete, Text: "model deleted", Deletes: true, effect: nodeAbsent},
		{Action: ModelVersionDelete, Text: "version deleted", Deletes: true, effect: nodeAbsent},
		{Action: NamespaceDelete, Text: "namespace deleted", Deletes: true, effect: nodeAbsent},
		{Action: NamespaceCreate, Text: "namespace created", effect: nodePresent},
		{Action: ModelCreate, Text: "model created", effect: nodePresent},
		{Action: ModelVersionCreate, Text: "version created", effect: nodePresent},
	}
}

// Info returns the description of the action. That of an unknown one has the action as its text.
func (a Action) Info() ActionInfo {
	all := Actions()
	i := slices.IndexFunc(all, func(info ActionInfo) bool { return info.Action == a })
	if i < 0 {
		return ActionInfo{Action: a, Text: string(a)}
	}
	return all[i]
}

// isKnown reports whether a webhook can be registered for the action.
func (a Action) isKnown() bool { return a.Info().effect != 0 }

// actionNames returns all actions as the interface names them.
func actionNames() []Action {
	var names []Action
	for _, info := range Actions() {
		names = append(names, info.Action)
	}
	return names
}
