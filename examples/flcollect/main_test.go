package main

func Example() {
	main()
	// Output:
	// round 5: loss 0.173, accuracy 0.965
	// round 10: loss 0.129, accuracy 0.979
	// round 15: loss 0.109, accuracy 0.979
	// after 15 rounds: 97.4 % of all tumours told rightly
}
