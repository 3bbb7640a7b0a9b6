package dp

// Orders are the orders that an accountant looks at.
func Orders() []float64 { return orders() }
