// Package tumours is a small real data set, and the federated training of a
// model on it, for demonstrations and tests.
//
// # Data
//
// [All] returns 569 tumours of the breast, each with 30 measurements of its
// cells and whether it was malignant. [Parties] deals them out to three
// parties that have different patients: most tumours of the first are benign,
// most of the third malignant. The model that they train together classifies more
// tumours rightly than the one that any of them finds alone.
//
// # Training
//
// [Trainer] is what such a party runs: logistic regression by gradient descent
// on its own tumours, as the trainer of a Flower client. What it sends is the
// model and two numbers on how well that does; the tumours stay where they are.
//
// # Source
//
// Breast Cancer Wisconsin (Diagnostic) by Wolberg, Mangasarian and Street,
// under CC BY 4.0. ATTRIBUTION.md in this folder has its source.
package tumours
