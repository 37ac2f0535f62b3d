"""MQTT: what is said where (`topics`), which broker (`broker`), and a connection that is kept (`bus`)."""
