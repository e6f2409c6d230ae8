"""Everything that is derived from records: tables, figures, a guide. All of it can be thrown away and rebuilt.

collect reads records into three Parquet files; tables, figures and guide read those. Nothing derived goes back into a
record, and a cell without a number keeps its row, its status and its reason in everything that is made here.
"""
