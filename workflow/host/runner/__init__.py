"""Runs one cell and always leaves its record: prepare, start the worker, watch it, classify its end, write.

request.py    what is asked for, and where everything is
prepare.py    graph, weights' hash, batches, job file
command.py    the worker's variables, cores and limits
start.py      its process, and the pipes
guardian.py   a child that samples telemetry and ends the worker if the runner dies
watch.py      sleeps until something happens: message, output, end, deadline, the death of a parent
conversation.py  what the worker says, checked line by line
classify.py   how it ended: status and reason
assemble.py   the record
"""
