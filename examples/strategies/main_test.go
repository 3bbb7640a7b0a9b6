package main

func Example() {
	main()
	// Output:
	// momentum: FINISHED after 15 rounds, loss 0.075, accuracy 0.986
	// momentum-wasm-go: FINISHED after 15 rounds, loss 0.075, accuracy 0.986
	// momentum-wasm-c: FINISHED after 15 rounds, loss 0.075, accuracy 0.986
}
