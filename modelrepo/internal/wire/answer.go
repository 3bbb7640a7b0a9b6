package wire

import "github.com/iotenablers/enablers/modelrepo"

// Success is the SuccessResponse of the interface. Its texts are for people.
type Success struct {
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// Removed is the answer to the deletion of a version.
type Removed struct {
	Success
	Aliases   []string `json:"aliases,omitempty"`
	WasLatest bool     `json:"wasLatest,omitempty"`
}

// Root is the RootInfoClientModel of the interface.
type Root struct {
	Namespaces modelrepo.Set[modelrepo.Namespace] `json:"namespaces"`
}

// CreatedWebhook is the answer to the creation of a webhook. Version 1 of the interface
// calls the identifier a handle.
type CreatedWebhook struct {
	Success
	Handle string `json:"handle"`
	Secret string `json:"secret"`
}

// WebhookSet is the answer to a listing of webhooks.
type WebhookSet struct {
	Webhooks modelrepo.Set[modelrepo.Webhook] `json:"webhooks"`
}

// Imported is the answer to an import.
type Imported struct {
	Success
	modelrepo.Imported
}

// Generated is the answer to the generation of documentation.
type Generated struct {
	Message string `json:"message"`
	Handle  string `json:"handle"`
	Plugin  string `json:"plugin"`
}
